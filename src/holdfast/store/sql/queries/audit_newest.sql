-- Where the newest jobs begin, so many of them.
select n.id
  from (select j.id::uuid as id from holdfast.job j order by j.id desc limit %(jobs)s) as n
 order by n.id
 limit 1
