"""Payments: quote, verify, run, settle, deliver; and what happens when one of these is cut short.

Three statements are written before an answer leaves, each on disk before the next step. `verified` is
written only if verification takes long, because a later request treats both cases alike. A
request that is killed before `served` has moved no money and is released. One that is killed later is in
doubt: it is looked up by its nonce, on the chain where a node is configured, otherwise by asking the
facilitator. It is settled again only for a payer who comes back.

Answers are not stored: running a request again after a crash costs less than storing every answer before it
is sent. What facilitators say is read strictly, and what they support is kept in the database, so a start
without them quotes the same networks. A settlement is sent once; on a connection that breaks it is in
doubt.
"""
