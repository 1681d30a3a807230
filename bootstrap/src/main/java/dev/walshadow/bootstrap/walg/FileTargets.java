package dev.walshadow.bootstrap.walg;

import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.DirectoryLander;
import dev.walshadow.bootstrap.backup.Route;

/** Where the files of a backup go: to the shadow's directory or to the loader. */
final class FileTargets {
    private final DirectoryLander lander;
    private final HeapFileSink heapFiles;
    private int kept;
    private int tapped;

    FileTargets(DirectoryLander lander, HeapFileSink heapFiles) {
        this.lander = lander;
        this.heapFiles = heapFiles;
    }

    int kept() {
        return kept;
    }

    int tapped() {
        return tapped;
    }

    void directory(String path) {
        lander.directory(path);
    }

    void begin(Route route, long size) throws InterruptedException {
        switch (route) {
            case Route.Skip _ -> {}
            case Route.Keep keep -> {
                lander.begin(keep.path());
                kept++;
            }
            case Route.Heap heap -> {
                heapFiles.begin(heap.locator(), heap.segmentNumber(), size);
                tapped++;
            }
        }
    }

    void data(Route route, byte[] bytes, int length) throws InterruptedException {
        switch (route) {
            case Route.Skip _ -> {}
            case Route.Keep _ -> lander.data(bytes, 0, length);
            case Route.Heap _ -> heapFiles.data(bytes, 0, length);
        }
    }

    void end(Route route) throws InterruptedException {
        switch (route) {
            case Route.Skip _ -> {}
            case Route.Keep _ -> lander.end();
            case Route.Heap _ -> heapFiles.end();
        }
    }

    /** A file that comes in pages, a part from each backup. */
    Pages beginPages(Route route, int blocks) throws InterruptedException {
        long size = (long) blocks * FilePages.SIZE;
        switch (route) {
            case Route.Skip _ -> {}
            case Route.Keep keep -> lander.beginPages(keep.path(), size);
            case Route.Heap heap -> heapFiles.begin(heap.locator(), heap.segmentNumber(), size);
        }
        return new Pages(route);
    }

    /** Pages of one file in any order. */
    final class Pages {
        private final Route route;
        private int next;

        private Pages(Route route) {
            this.route = route;
        }

        void page(int block, byte[] bytes) throws InterruptedException {
            if (block != next) {
                switch (route) {
                    case Route.Skip _ -> {}
                    case Route.Keep _ -> lander.seek((long) block * FilePages.SIZE);
                    case Route.Heap _ -> heapFiles.skipTo(block);
                }
            }
            next = block + 1;
            data(route, bytes, FilePages.SIZE);
        }

        void end() throws InterruptedException {
            FileTargets.this.end(route);
        }
    }
}
