-- When a gap was found, and who has taken note of it: until then, or for `gap.shown_for`, the monitor goes on to say so.
alter table rebalance_monitor.gaps
    add column found_at timestamptz not null default now(),
    add column acknowledged_at timestamptz,
    add column acknowledged_by text, -- the session's role
    add column acknowledged_operator text; -- the account on the machine the command ran on, as it said
