select (select j.id::uuid from holdfast.job j order by j.id limit 1), (select j.id::uuid from holdfast.job j order by j.id desc limit 1)
