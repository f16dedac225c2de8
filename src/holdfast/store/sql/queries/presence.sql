-- Workers that live, and approvals that nobody has decided, up to a cap.
select (select count(*) from holdfast.worker w where w.died_at is null and w.seen_at + w.lease >= holdfast.clock()),
       (select count(*) from (select from holdfast.approval a where a.decided_at is null limit %(cap)s) as c)
