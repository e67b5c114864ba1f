\set account random(1, 100 * :branches)
SELECT balance FROM account WHERE id = :account;
