import type { Message } from '$lib/chat_types';

/** The messages of a conversation by their ids. */
export type Messages = ReadonlyMap<string, Message>;

/** The ids of the children of each message, the oldest first; those of `null` have no parent. */
export function childrenOf(messages: Messages): Map<string | null, string[]> {
	const children = new Map<string | null, string[]>();
	for (const message of [...messages.values()].sort(byTime)) {
		// a parent that is gone (an import, a removal in another tab) makes its children roots, so that no text is hidden
		const parent = message.parent !== null && messages.has(message.parent) ? message.parent : null;
		const known = children.get(parent);
		if (known) known.push(message.id);
		else children.set(parent, [message.id]);
	}
	return children;
}

function byTime(a: Message, b: Message): number {
	return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}

/** The ids from the first message to `leaf`; empty without one. A cycle, which only a hostile import can have, ends it. */
export function pathTo(messages: Messages, leaf: string | null): string[] {
	const path: string[] = [];
	const seen = new Set<string>();
	for (let at = leaf === null ? undefined : messages.get(leaf); at && !seen.has(at.id); ) {
		seen.add(at.id);
		path.push(at.id);
		at = at.parent === null ? undefined : messages.get(at.parent);
	}
	return path.reverse();
}

/** The end of the newest branch below `id` (of all branches: null). Null if there is no message. */
export function newestLeaf(messages: Messages, id: string | null): string | null {
	const children = childrenOf(messages);
	let leaf = id;
	for (const seen = new Set<string | null>(); !seen.has(leaf); ) {
		seen.add(leaf);
		const below = children.get(leaf) ?? [];
		// the second answer of a comparison is beside the first one, which is the history
		leaf = below.findLast((child) => !isSecond(messages, child)) ?? below.at(-1) ?? leaf;
	}
	return leaf;
}

/** The branches at a message, itself included, the oldest first: those of the same side of a comparison. */
export function branchesAt(messages: Messages, id: string, children = childrenOf(messages)): string[] {
	const message = messages.get(id);
	if (!message) return [];
	const parent = message.parent !== null && messages.has(message.parent) ? message.parent : null;
	return (children.get(parent) ?? []).filter((one) => isSecond(messages, one) === isSecond(messages, id));
}

/** The newest answer of the other model to the same message; null without one. */
export function besideOf(messages: Messages, id: string, children = childrenOf(messages)): string | null {
	const message = messages.get(id);
	if (message?.role !== 'assistant' || message.parent === null) return null;
	const others = (children.get(message.parent) ?? []).filter(
		(one) => messages.get(one)?.role === 'assistant' && isSecond(messages, one) !== message.isSecond
	);
	return others.at(-1) ?? null;
}

/** A message and all that follow it, in all branches. */
export function subtree(messages: Messages, id: string): string[] {
	const children = childrenOf(messages);
	const found = new Set<string>();
	const open = [id];
	for (let at = open.pop(); at !== undefined; at = open.pop()) {
		if (found.has(at)) continue;
		found.add(at);
		open.push(...(children.get(at) ?? []));
	}
	return [...found];
}

function isSecond(messages: Messages, id: string): boolean {
	const message = messages.get(id);
	return message?.role === 'assistant' && message.isSecond;
}
