-- Where a slice of the feed ends.
select f.channel, f.id
  from holdfast.feed f
 where (f.channel, f.id) >= (%(from_channel)s, %(from_id)s)
 order by f.channel, f.id
offset %(events)s
 limit 1
