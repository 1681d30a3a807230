package dev.walshadow.bootstrap.backup;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.RelationLocator;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class FileRouterTest {
    private final FileRouter router =
            new FileRouter(
                    Set.of(new RelationLocator(1663, 5, 20001), new RelationLocator(16500, 7, 30)));

    private Route file(String path) {
        return router.route(0, path, false);
    }

    @Test
    void catalogsAndTransactionStateAreKept() {
        for (String path :
                new String[] {
                    "PG_VERSION",
                    "backup_label",
                    "global/pg_control",
                    "global/1262",
                    "global/pg_filenode.map",
                    "global/1262_fsm",
                    "global/20777",
                    "pg_xact/0000",
                    "pg_multixact/offsets/0000",
                    "pg_multixact/members/0001",
                    "pg_twophase/000A",
                    "pg_commit_ts/0000",
                    "base/5/PG_VERSION",
                    "base/5/pg_filenode.map",
                    "base/5/1259",
                    "base/5/1259_vm",
                    "base/5/1249_fsm",
                    "base/5/1249.1",
                    "base/5/13456",
                    "base/5/20001",
                    "base/5/20001_fsm",
                    "base/5/20001.2"
                }) {
            assertThat(file(path)).as(path).isEqualTo(new Route.Keep(path));
        }
    }

    @Test
    void directoriesThatPostgresWantsAreKept() {
        for (String path :
                new String[] {
                    "base",
                    "base/5",
                    "global",
                    "pg_wal",
                    "pg_wal/archive_status",
                    "pg_tblspc",
                    "pg_logical/snapshots",
                    "pg_multixact/members",
                    "pg_twophase",
                    "pg_replslot"
                }) {
            assertThat(router.route(0, path, true)).as(path).isEqualTo(new Route.Keep(path));
        }
        for (String path : new String[] {"base/pgsql_tmp", "log", "pg_replslot/walshadow"}) {
            assertThat(router.route(0, path, true)).as(path).isEqualTo(Route.SKIP);
        }
    }

    @Test
    void whatIsTheSourcesOwnIsDropped() {
        for (String path :
                new String[] {
                    "postgresql.conf",
                    "postgresql.auto.conf",
                    "pg_hba.conf",
                    "server.key",
                    "tablespace_map",
                    "postmaster.opts",
                    "log/postgresql.log",
                    "secrets/key",
                    "pg_replslot/walshadow/state",
                    "pg_logical/replorigin_checkpoint",
                    "pg_stat/pgstat.stat",
                    "pg_wal/000000010000000000000001",
                    "base/5/2613",
                    "base/5/2613.4",
                    "base/5/2683",
                    "base/5/20002_fsm",
                    "base/5/20002_vm",
                    "base/5/20002_init",
                    "base/5/t3_20002",
                    "base/5/t3_20002.1",
                    "base/5/pg_internal.init",
                    "base/5/20002.x",
                    "base/x/20002",
                    "base/5/a/b",
                    "base/20002",
                    "base/pgsql_tmp/pgsql_tmp1.0"
                }) {
            assertThat(file(path)).as(path).isEqualTo(Route.SKIP);
        }
    }

    @Test
    void userRelationsAreOfferedBySegmentAndTablespace() {
        assertThat(file("base/5/16384"))
                .isEqualTo(new Route.Heap(new RelationLocator(1663, 5, 16384), 0));
        assertThat(file("base/5/20002.17"))
                .isEqualTo(new Route.Heap(new RelationLocator(1663, 5, 20002), 17));
        assertThat(file("base/4000000000/4294967295"))
                .isEqualTo(new Route.Heap(new RelationLocator(1663, (int) 4000000000L, -1), 0));
        assertThat(router.route(16500, "PG_17_202406281/7/20002.1", false))
                .isEqualTo(new Route.Heap(new RelationLocator(16500, 7, 20002), 1));
        // The same number elsewhere is another relation.
        assertThat(router.route(16500, "PG_17_202406281/5/20001", false))
                .isEqualTo(new Route.Heap(new RelationLocator(16500, 5, 20001), 0));
    }

    @Test
    void tablespacesBecomeDirectoriesInPlace() {
        String root = "pg_tblspc/16500/PG_17_202406281";
        assertThat(router.route(16500, "PG_17_202406281", true)).isEqualTo(new Route.Keep(root));
        assertThat(router.route(16500, "PG_17_202406281/7", true))
                .isEqualTo(new Route.Keep(root + "/7"));
        assertThat(router.route(16500, "PG_17_202406281/7/1259", false))
                .isEqualTo(new Route.Keep(root + "/7/1259"));
        assertThat(router.route(16500, "PG_17_202406281/7/pg_filenode.map", false))
                .isEqualTo(new Route.Keep(root + "/7/pg_filenode.map"));
        assertThat(router.route(16500, "notes.txt", false)).isEqualTo(Route.SKIP);
        assertThat(router.route(16500, "PG_16_202307071/7", true))
                .isEqualTo(new Route.Keep("pg_tblspc/16500/PG_16_202307071/7"));
    }
}
