/** What a person does with a conversation, from its menu, the palette or the keyboard. */
import { goto } from '$app/navigation';
import { resolve } from '$app/paths';
import { page } from '$app/state';
import { language } from '$lib/chat_text/language.svelte';
import type { Conversation } from '$lib/chat_types';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { notices } from '$lib/stores/chat/notices.svelte';
import { platform } from '$lib/stores/chat/platform.svelte';

/** The address of a conversation; of a new one without an id. */
export function chatHref(id: string | null): string {
	return id === null ? resolve('/') : `${resolve('/')}?c=${encodeURIComponent(id)}`;
}

/** The conversation that the page shows. */
export function currentId(): string | null {
	return page.route.id === '/(chat)' ? page.url.searchParams.get('c') : null;
}

export function current(): Conversation | undefined {
	const id = currentId();
	return id === null ? undefined : conversations.get(id);
}

export async function show(id: string | null): Promise<void> {
	// eslint-disable-next-line svelte/no-navigation-without-resolve -- it is resolved
	await goto(chatHref(id), { keepFocus: true });
}

export function titleOf(conversation: Pick<Conversation, 'title'>): string {
	return conversation.title || language.text.shell.untitled;
}

/** Delete it; the notice has "Undo". */
export async function remove(conversation: Conversation): Promise<void> {
	const wasShown = currentId() === conversation.id;
	const words = language.text.shell;
	const undo = await conversations.remove([conversation.id]);
	if (wasShown) await show(null);
	notices.show(
		words.removed(titleOf(conversation)),
		{
			label: words.undo,
			run: () => void undo().then(() => (wasShown ? show(conversation.id) : undefined))
		},
		// the platform is told when it cannot be undone any more
		conversation.place === 'server' ? () => platform.settle(conversation.id) : undefined
	);
}

export function togglePin({ id, isPinned }: Conversation): void {
	conversations.change(id, { isPinned: !isPinned });
}

/** Name it. An empty title means that it follows the first message again. */
export function rename(id: string, title: string): void {
	const line = title.replace(/\s+/g, ' ').trim().slice(0, 200);
	if (line) conversations.change(id, { title: line, isTitled: true });
}

/** The names of all folders, in the order of the alphabet. */
export function folders(): string[] {
	const names = new Set(conversations.list.flatMap(({ folder }) => folder ?? []));
	return [...names].sort((one, other) => one.localeCompare(other, language.code));
}

/** The conversations in the order of the list: the pinned ones first. */
export function inListOrder(): Conversation[] {
	return [
		...conversations.list.filter(({ isPinned }) => isPinned),
		...conversations.list.filter(({ isPinned }) => !isPinned)
	];
}
