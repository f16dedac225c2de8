-- The first day of which all minutes are kept; what is kept for longer than anything can be is said where minutes are looked at (audit_timings.sql).
select (holdfast.clock() at time zone 'UTC' - greatest(least(p.statistics_kept, interval '9999 days'), interval '0'))::date + 2 from holdfast.projection p
