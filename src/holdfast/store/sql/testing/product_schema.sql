-- A schema for a product's own tables, which its login makes.
create schema if not exists {name};
grant all on schema {name} to {login};
