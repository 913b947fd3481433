package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// FsyncJournal: every commit waits for the disk, and for the journal that
// serialises commits.
var FsyncJournal = fsyncJournal.rule()

var fsyncJournal = &waiting{
	id: "fsync-journal", doc: "threads wait for fsync or for the file system's journal",
	pass: ofClass(signature.ClassSync), weigh: offInD, blind: inDisk(0.60),
	many: "wait for fsync", one: "waits for fsync", noun: "waits for fsync or the journal", look: "ext4_sync_file, jbd2_log_wait_commit, blkdev_issue_flush",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Commit in groups: collect the records of a few milliseconds and fsync once."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("one per record → one per group")}},
				Price:   text("a record is durable as late as its group")},
			{Do: text("Use fdatasync on a preallocated file, so that no metadata is committed with it."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("those for metadata go")}}},
			{Do: text("Put the journal or the log on a device with power-loss protection.")},
		}
	},
}
