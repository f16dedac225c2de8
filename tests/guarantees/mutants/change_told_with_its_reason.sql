-- guard: the feed has nobody's words of a change
-- dies: tests/sql/test_changes.py::test_the_feed_tells_that_a_job_moved_but_nobodys_words
select pg_temp.without('holdfast.project_slice', ' - ''reason''', '');
