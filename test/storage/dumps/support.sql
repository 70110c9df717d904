--
-- PostgreSQL database dump
--
-- As pg_dump --inserts writes what the tools of others have made: tickets by Rails, agents by Django, "Order" by Prisma.

SET statement_timeout = 0;
SET lock_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA public;

--
-- Name: ticket_state; Type: TYPE; Schema: public
--

CREATE TYPE public.ticket_state AS ENUM (
    'open',
    'waiting',
    'closed'
);

--
-- Name: tickets; Type: TABLE; Schema: public
--

CREATE TABLE public.tickets (
    id bigint NOT NULL,
    token uuid DEFAULT gen_random_uuid() NOT NULL,
    title character varying(20) NOT NULL,
    state public.ticket_state DEFAULT 'open'::public.ticket_state NOT NULL,
    country character(2),
    opened_at timestamp(6) without time zone,
    seen_at timestamp with time zone,
    due_on date,
    starts_at time without time zone,
    price numeric(10,2),
    rate numeric(6,4),
    score numeric,
    weight double precision,
    votes smallint DEFAULT 0 NOT NULL,
    minutes integer,
    account bigint,
    urgent boolean DEFAULT false NOT NULL,
    tags character varying[] DEFAULT '{}'::character varying[] NOT NULL,
    marks integer[],
    watchers uuid[],
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    title_length integer GENERATED ALWAYS AS (length((title)::text)) STORED,
    lock_version integer DEFAULT 1 NOT NULL,
    created_at timestamp(6) without time zone NOT NULL,
    updated_at timestamp(6) without time zone NOT NULL
);

CREATE SEQUENCE public.tickets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.tickets_id_seq OWNED BY public.tickets.id;

--
-- Name: agents; Type: TABLE; Schema: public
--

CREATE TABLE public.agents (
    id bigint NOT NULL,
    email character varying(254) NOT NULL,
    age integer,
    version bigint DEFAULT 1 NOT NULL,
    joined timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT agents_age_check CHECK ((age >= 0))
);

ALTER TABLE public.agents ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.agents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: Order; Type: TABLE; Schema: public
--

CREATE TABLE public."Order" (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    "fullName" text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    "createdAt" timestamp(3) without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    "updatedAt" timestamp(3) without time zone NOT NULL
);

--
-- Name: tickets id; Type: DEFAULT; Schema: public
--

ALTER TABLE ONLY public.tickets ALTER COLUMN id SET DEFAULT nextval('public.tickets_id_seq'::regclass);

INSERT INTO public.tickets VALUES (1, '00000000-0000-4000-8000-000000000001', 'Printer on fire', 'open', 'DE', '2026-11-15 05:07:41.123456', '2026-11-15 06:07:41.123456+01', '2026-11-20', '08:30:00', 12.50, 0.1250, 1.10, 0.1, 3, 90, 9007199254740993, true, '{hot,"b c"}', '{1,2}', '{00000000-0000-4000-8000-000000000001}', '{"b": 1, "a": [1, 2]}', DEFAULT, 1, '2026-11-15 05:07:41.123456', '2026-11-15 05:07:41.123456');
INSERT INTO public.tickets VALUES (2, 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'paper jam', 'waiting', 'A', '2026-11-15 05:07:41.123999', NULL, NULL, '17:45:30.5', 9.00, 10.0000, 1.1, 1e21, -3, NULL, 7, false, '{}', NULL, NULL, '{}', DEFAULT, 4, '2026-11-15 05:07:41.123999', '2026-11-16 00:00:00');
INSERT INTO public.tickets VALUES (3, 'a0000000-0000-4000-8000-00000000000a', 'Ünicode ☂', 'closed', NULL, '1999-12-31 23:59:59.999999', '2026-11-15 05:07:41.124+00', '0044-03-15', NULL, NULL, NULL, NULL, NULL, 32767, 0, NULL, false, '{NULL,"q\"uote"}', '{}', '{}', '[null]', DEFAULT, 1, '2026-11-15 05:07:42', '2026-11-15 05:07:42');
INSERT INTO public.tickets VALUES (4, '0a000000-0000-4000-8000-000000000000', 'PAPER JAM', 'open', 'De', NULL, '2026-11-15 05:07:41.1235+00', '2026-11-20', '08:30:00', -0.05, -0.1250, 12345678901234567890.5, -0.0, 0, -2147483648, -5, true, '{hot}', '{3}', NULL, '{"deep": {"er": true}}', DEFAULT, 2, '2026-11-15 05:07:41.123', '2026-11-15 05:07:41.123');

INSERT INTO public.agents OVERRIDING SYSTEM VALUE VALUES (1, 'ann@example.org', 30, 1, '2020-02-29 12:00:00+00');

INSERT INTO public."Order" VALUES ('3f333df6-90a4-4fda-8dd3-9485d27cee36', 'Tea', 1, '2026-11-15 05:07:41.123', '2026-11-15 05:07:41.123');

SELECT pg_catalog.setval('public.tickets_id_seq', 4, true);
SELECT pg_catalog.setval('public.agents_id_seq', 1, true);

ALTER TABLE ONLY public.tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_email_key UNIQUE (email);

ALTER TABLE ONLY public."Order"
    ADD CONSTRAINT "Order_pkey" PRIMARY KEY (id);

CREATE UNIQUE INDEX index_tickets_on_token ON public.tickets USING btree (token);

CREATE INDEX index_tickets_on_state ON public.tickets USING btree (state);

--
-- PostgreSQL database dump complete
--
