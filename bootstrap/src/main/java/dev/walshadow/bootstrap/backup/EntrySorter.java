package dev.walshadow.bootstrap.backup;

import dev.walshadow.bootstrap.HeapFileSink;

/** Sends each entry of the archives along its {@link Route}. */
final class EntrySorter implements TarReader.Entries {
    private final FileRouter router;
    private final DirectoryLander lander;
    private final HeapFileSink heapFiles;
    private int tablespaceOid;
    private Route current = Route.SKIP;
    private int filesKept;
    private int filesTapped;

    EntrySorter(FileRouter router, DirectoryLander lander, HeapFileSink heapFiles) {
        this.router = router;
        this.lander = lander;
        this.heapFiles = heapFiles;
    }

    /** The following entries are of this tablespace; 0 = the main data directory. */
    void tablespace(int oid) {
        tablespaceOid = oid;
    }

    int filesKept() {
        return filesKept;
    }

    int filesTapped() {
        return filesTapped;
    }

    @Override
    public void begin(String path, int type, long size) throws InterruptedException {
        boolean directory = type == TarLayout.TYPE_DIRECTORY;
        boolean known = directory || type == TarLayout.TYPE_FILE;
        current = known ? router.route(tablespaceOid, path, directory) : Route.SKIP;
        switch (current) {
            case Route.Skip _ -> {}
            case Route.Keep keep -> {
                if (directory) {
                    lander.directory(keep.path());
                    current = Route.SKIP;
                } else {
                    lander.begin(keep.path());
                    filesKept++;
                }
            }
            case Route.Heap heap -> {
                if (heapFiles.wants(heap.locator())) {
                    heapFiles.begin(heap.locator(), heap.segmentNumber(), size);
                    filesTapped++;
                } else {
                    current = Route.SKIP;
                }
            }
        }
    }

    @Override
    public void data(byte[] bytes, int offset, int length) throws InterruptedException {
        switch (current) {
            case Route.Skip _ -> {}
            case Route.Keep _ -> lander.data(bytes, offset, length);
            case Route.Heap _ -> heapFiles.data(bytes, offset, length);
        }
    }

    @Override
    public void end() throws InterruptedException {
        switch (current) {
            case Route.Skip _ -> {}
            case Route.Keep _ -> lander.end();
            case Route.Heap _ -> heapFiles.end();
        }
    }
}
