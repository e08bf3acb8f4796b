/** The calls of /v1/conversations (docs/api.md). All raise `ApiProblem`. */
import { pathPart } from '$lib/api/client';
import { callJson } from '$lib/services/chat/answer_calls';
import type { Facts } from './facts';
import type { Item } from './messages_of';

export interface Quota {
	conversations: number;
	max_conversations: number;
	bytes: number;
	max_bytes: number;
}

export interface Turn {
	response_id: string;
	parent_id: string | null;
}

/** A conversation of the platform. */
export interface ServerConversation {
	id: string;
	created_at: number;
	updated_at: number;
	metadata: Facts;
	item_count: number;
	bytes: number;
	turns: Turn[];
}

export interface ServerPage {
	data: ServerConversation[];
	has_more: boolean;
	last_id: string | null;
	quota: Quota;
}

/** Changes when items or metadata do. */
export function markOf({ updated_at, item_count, bytes }: ServerConversation): string {
	return `${updated_at} ${item_count} ${bytes}`;
}

export async function listConversations(limit: number, after: string | null = null): Promise<ServerPage> {
	const from = after === null ? '' : `&after=${encodeURIComponent(after)}`;
	return (await callJson('GET', `/v1/conversations?limit=${limit}${from}`)) as ServerPage;
}

export async function createConversation(metadata: Facts): Promise<ServerConversation> {
	return (await callJson('POST', '/v1/conversations', { metadata })) as ServerConversation;
}

export async function readConversation(id: string): Promise<ServerConversation> {
	return (await callJson('GET', `/v1/conversations/${pathPart(id)}`)) as ServerConversation;
}

export async function changeMetadata(id: string, metadata: Facts): Promise<ServerConversation> {
	return (await callJson('POST', `/v1/conversations/${pathPart(id)}`, { metadata })) as ServerConversation;
}

export async function deleteConversation(id: string): Promise<void> {
	await callJson('DELETE', `/v1/conversations/${pathPart(id)}`);
}

/** The items that were added after one of them (null: all), in the order of their addition. */
export async function readItems(id: string, after: string | null): Promise<Item[]> {
	const found: Item[] = [];
	for (let from = after; ; ) {
		const query = `order=asc&limit=1000${from === null ? '' : `&after=${encodeURIComponent(from)}`}`;
		const page = (await callJson('GET', `/v1/conversations/${pathPart(id)}/items?${query}`)) as { data: Item[]; has_more: boolean };
		found.push(...page.data);
		const last = page.data.at(-1);
		if (!page.has_more || !last) return found;
		from = last.id;
	}
}

/** Add items, at most 20. Those that are there already are not added again. */
export async function addItems(id: string, items: object[]): Promise<void> {
	await callJson('POST', `/v1/conversations/${pathPart(id)}/items`, { items });
}

/** Delete an item and all that follow it. */
export async function deleteItems(id: string, item: string): Promise<void> {
	await callJson('DELETE', `/v1/conversations/${pathPart(id)}/items/${pathPart(item)}?descendants=true`);
}
