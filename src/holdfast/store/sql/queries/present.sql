-- How many jobs are in each status, as of the projector's last pass: from its totals, of which there are few.
select t.status::text, sum(t.entered - t.departed)::bigint
  from holdfast.tally t
 group by t.status
