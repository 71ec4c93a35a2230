CREATE TABLE public.accounts (
    name text NOT NULL,
    user_handle bytea NOT NULL,
    password_hash text NOT NULL,
    created_at bigint NOT NULL
);
CREATE UNLOGGED TABLE public.challenges (
    hash bytea NOT NULL,
    purpose text NOT NULL,
    key_id bytea,
    binding bytea,
    expires_at bigint NOT NULL
);
CREATE UNLOGGED TABLE public.counts (
    bucket bytea NOT NULL,
    window_start bigint NOT NULL,
    uses bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.device_keys (
    id bytea NOT NULL,
    public_key bytea NOT NULL,
    user_handle bytea NOT NULL,
    device_id bytea NOT NULL,
    device_name text NOT NULL,
    counter bytea NOT NULL,
    registered_at bigint NOT NULL,
    last_used_at bigint,
    revoked_reason text,
    revoked_at bigint
);
CREATE TABLE public.password_sessions (
    hash bytea NOT NULL,
    user_handle bytea NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.sessions (
    id bytea NOT NULL,
    key_id bytea NOT NULL,
    user_handle bytea NOT NULL,
    session_key text,
    refresh_hash bytea NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.token_keys (
    id text NOT NULL,
    number bigint NOT NULL,
    sealed bytea NOT NULL,
    created_at bigint NOT NULL,
    retires_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.touchstone_signin (
    version bigint NOT NULL
);
CREATE TABLE public.transactions (
    id text NOT NULL,
    user_handle bytea NOT NULL,
    content text NOT NULL,
    expires_at bigint NOT NULL,
    confirmed_by bytea,
    confirmed_at bigint
);
CREATE TABLE public.used_proofs (
    hash bytea NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.web_requests (
    id text NOT NULL,
    code text NOT NULL,
    browser_hash bytea NOT NULL,
    expires_at bigint NOT NULL,
    state text NOT NULL,
    key_id bytea,
    settled_at bigint,
    collected_at bigint
);
INSERT INTO public.accounts VALUES ('ana', '\x616e6100000000000000000000000000', '$argon2id$ana', 1800000000250000);
INSERT INTO public.challenges VALUES ('\x6300000000000000000000000000000000000000000000000000000000000000', 'sign-in', '\x6b00000000000000000000000000000000000000000000000000000000000000', NULL, 1800000060250000);
INSERT INTO public.counts VALUES ('\x6200000000000000000000000000000000000000000000000000000000000000', 1800000000000000, 1, 1800000060000000);
INSERT INTO public.device_keys VALUES ('\x6b00000000000000000000000000000000000000000000000000000000000000', '\x6b', '\x616e6100000000000000000000000000', '\x6f66206b000000000000000000000000', 'Device of k', '\x0000000000000007', 1800000000250000, 1800000010250000, NULL, NULL);
INSERT INTO public.device_keys VALUES ('\x6f6c640000000000000000000000000000000000000000000000000000000000', '\x6f6c64', '\x616e6100000000000000000000000000', '\x6f66206f6c6400000000000000000000', 'Device of old', '\x0000000000000000', 1800000000250000, NULL, 'owner', 1800000020250000);
INSERT INTO public.password_sessions VALUES ('\x70617373776f726420616e610000000000000000000000000000000000000000', '\x616e6100000000000000000000000000', 1800000300250000);
INSERT INTO public.sessions VALUES ('\x73000000000000000000000000000000', '\x6b00000000000000000000000000000000000000000000000000000000000000', '\x616e6100000000000000000000000000', 'thumbprint', '\x7231000000000000000000000000000000000000000000000000000000000000', 1800003600250000);
INSERT INTO public.token_keys VALUES ('1', 1, '\x7365616c65640000000000000000000000000000000000000000000000000000', 1800000000250000, 1800000010250000, 1800000020250000);
INSERT INTO public.touchstone_signin VALUES (1);
INSERT INTO public.transactions VALUES ('t', '\x616e6100000000000000000000000000', 'Pay 10 €', 1800000060250000, NULL, NULL);
INSERT INTO public.used_proofs VALUES ('\x7000000000000000000000000000000000000000000000000000000000000000', 1800000060250000);
INSERT INTO public.web_requests VALUES ('w', '42-17', '\x62726f7773657200000000000000000000000000000000000000000000000000', 1800000060250000, 'pending', NULL, NULL, NULL);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_user_handle_key UNIQUE (user_handle);
ALTER TABLE ONLY public.challenges
    ADD CONSTRAINT challenges_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.counts
    ADD CONSTRAINT counts_pkey PRIMARY KEY (bucket);
ALTER TABLE ONLY public.device_keys
    ADD CONSTRAINT device_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.password_sessions
    ADD CONSTRAINT password_sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_refresh_hash_key UNIQUE (refresh_hash);
ALTER TABLE ONLY public.token_keys
    ADD CONSTRAINT token_keys_number_key UNIQUE (number);
ALTER TABLE ONLY public.token_keys
    ADD CONSTRAINT token_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.used_proofs
    ADD CONSTRAINT used_proofs_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.web_requests
    ADD CONSTRAINT web_requests_browser_hash_key UNIQUE (browser_hash);
ALTER TABLE ONLY public.web_requests
    ADD CONSTRAINT web_requests_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX active_key_of_device ON public.device_keys USING btree (user_handle, device_id) WHERE (revoked_reason IS NULL);
CREATE INDEX expiry_of_challenges ON public.challenges USING btree (expires_at);
CREATE INDEX expiry_of_counts ON public.counts USING btree (expires_at);
CREATE INDEX expiry_of_password_sessions ON public.password_sessions USING btree (expires_at);
CREATE INDEX expiry_of_sessions ON public.sessions USING btree (expires_at);
CREATE INDEX expiry_of_transactions ON public.transactions USING btree (expires_at);
CREATE INDEX expiry_of_used_proofs ON public.used_proofs USING btree (expires_at);
CREATE INDEX expiry_of_web_requests ON public.web_requests USING btree (expires_at);
CREATE INDEX keys_of_account ON public.device_keys USING btree (user_handle);
CREATE INDEX sessions_of_key ON public.sessions USING btree (key_id);
ALTER TABLE ONLY public.password_sessions
    ADD CONSTRAINT password_sessions_user_handle_fkey FOREIGN KEY (user_handle) REFERENCES public.accounts(user_handle) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.device_keys(id);
ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_user_handle_fkey FOREIGN KEY (user_handle) REFERENCES public.accounts(user_handle) ON DELETE CASCADE;
