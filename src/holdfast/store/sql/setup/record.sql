insert into holdfast.installed (what, checksum)
values ({what}, {checksum})
on conflict (what) do update set checksum = excluded.checksum, at = clock_timestamp();
