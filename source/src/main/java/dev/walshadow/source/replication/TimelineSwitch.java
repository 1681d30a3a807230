package dev.walshadow.source.replication;

/** Where a historic timeline ends: the next timeline begins at exactly this position. */
public record TimelineSwitch(int nextTimeline, long switchLsn) {}
