-- The product's own tables, in a schema that its login may fill. Running it again changes nothing.

create table if not exists booking_side_effects.booking (
  id bigint generated always as identity primary key,
  status text not null default 'PENDING',
  machine text not null,
  starts_on date not null,
  ends_on date not null,
  customer_name text not null,
  customer_email text not null,
  billing_name text not null,
  billing_address text not null,
  tax_number text,
  net_cents bigint not null,
  flags text[] not null default '{}',
  payment_intent text,
  invoice_number text,
  invoice_pdf_url text,
  confirmation_email_sent_at timestamptz,
  internal_email_sent_at timestamptz,
  invoice_email_sent_at timestamptz,
  constraint a_booking_is_pending_or_confirmed check (status in ('PENDING', 'CONFIRMED')),
  constraint a_confirmed_booking_was_paid check ((status = 'CONFIRMED') = (payment_intent is not null)),
  constraint a_booking_ends_after_it_starts check (ends_on >= starts_on),
  constraint a_booking_costs_something check (net_cents > 0),
  constraint an_invoice_has_a_number_and_a_link check ((invoice_number is null) = (invoice_pdf_url is null))
);

-- Who had what done again, and why. It names bookings without pointing at them: the record outlives what it is about.
create table if not exists booking_side_effects.resend (
  id bigint generated always as identity primary key,
  booking_id bigint not null,
  type text not null,
  asked_by text not null,
  reason text not null,
  asked_at timestamptz not null default holdfast.clock(),
  job_id uuid not null
);
