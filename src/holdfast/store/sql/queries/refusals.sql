-- How often a guard of the tables refused a write, since the database was made or somebody counted anew.
select case when r.is_called then r.last_value else 0 end
  from holdfast.refusal r
