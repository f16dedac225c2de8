-- How many jobs of a range have no chain, because they have not moved since there are any.
select count(*)
  from holdfast.job j
 where j.id >= %(first)s::uuid and j.id <= %(last)s::uuid and j.chain is null
