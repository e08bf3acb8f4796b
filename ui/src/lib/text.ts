import { account } from './console_text/account';
import { add } from './console_text/add';
import { alerts, webhooks } from './console_text/alerts';
import { approvals } from './console_text/approvals';
import { audit } from './console_text/audit';
import { cache } from './console_text/cache';
import { load } from './console_text/load';
import { model } from './console_text/model';
import { models } from './console_text/models';
import { operations } from './console_text/operations';
import { overview } from './console_text/overview';
import { product, skip, about, nav, common } from './console_text/shell';
import { queue } from './console_text/queue';
import { requests } from './console_text/requests';
import { session, sessions } from './console_text/session';
import { table } from './console_text/table';
import { tenants, keys, usage } from './console_text/tenants';
import { workers } from './console_text/workers';

/** All words of the pages for operators, a file for each page; those that they share with the chat are in `chat_text`. */
export const text = {
	product,
	skip,
	about,
	nav,
	common,
	session,
	sessions,
	table,
	models,
	load,
	add,
	model,
	operations,
	cache,
	workers,
	queue,
	tenants,
	keys,
	usage,
	account,
	approvals,
	requests,
	alerts,
	webhooks,
	audit,
	overview
};
