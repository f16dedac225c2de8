-- The first day of which all minutes are kept.
select (holdfast.clock() at time zone 'UTC' - p.statistics_kept)::date + 2 from holdfast.projection p
