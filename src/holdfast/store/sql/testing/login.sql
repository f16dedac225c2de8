-- A login with the rights of an application and none of the owner's.
do $$
begin
  if to_regrole({login}) is null then
    begin
      create role {name} login;
    exception when duplicate_object or unique_violation then
      null;
    end;
  end if;
  alter role {name} login password {password};
  grant holdfast_producer, holdfast_worker, holdfast_api, holdfast_viewer to {name};
end $$;
