-- Lists of jobs that people come back to.

create table holdfast.saved_view (
  tenant   holdfast.name,                                -- null: of those who reach all
  owner    text,                                         -- null: everybody's who sees the tenant
  name     holdfast.name not null,
  search   text not null,
  columns  text not null,                                -- '': the usual ones
  reach    text not null,                                -- how far back it looks
  saved_by text not null,
  saved_at timestamptz not null default holdfast.clock(),
  constraint saved_view_has_one_row_a_name unique nulls not distinct (tenant, owner, name),   -- lists
  constraint saved_view_search_has_1000_characters_at_most check (length(search) <= 1000),
  constraint saved_view_columns_have_1000_characters_at_most check (length(columns) <= 1000),
  constraint saved_view_reach_is_known check (reach in ('1h', '24h', '7d', '30d', 'all'))
);
