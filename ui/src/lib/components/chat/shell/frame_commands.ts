/** The commands of the frame: conversations, the list, dialogs and pages. */
import { goto } from '$app/navigation';
import { resolve } from '$app/paths';
import { language } from '$lib/chat_text/language.svelte';
import type { Command } from '$lib/services/chat/commands';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { frame } from '$lib/stores/chat/frame.svelte';
import { session } from '$lib/stores/session.svelte';
import { theme } from '$lib/stores/theme.svelte';
import { current, currentId, inListOrder, remove, show, togglePin } from './actions';

/** The text field in which a message is written; null on pages without one. */
export function composerField(): HTMLElement | null {
	return document.getElementById('composer');
}

export function frameCommands(): Command[] {
	const words = () => language.text.palette;
	const isShown = () => current() !== undefined;
	return [
		{
			id: 'chat.new',
			group: 'chat',
			title: () => language.text.shell.newChat,
			keys: 'Mod+Shift+O',
			slash: 'new',
			run: async () => {
				await show(null);
				composerField()?.focus();
			}
		},
		{ id: 'chat.search', group: 'chat', title: () => words().focusSearch, keys: 'Mod+Shift+F', run: () => frame.search() },
		{
			id: 'chat.rename',
			group: 'chat',
			title: () => words().rename,
			slash: 'rename',
			when: isShown,
			run: () => open('rename')
		},
		{
			id: 'chat.pin',
			group: 'chat',
			title: () => words().pin,
			when: isShown,
			run: () => {
				const conversation = current();
				if (conversation) togglePin(conversation);
			}
		},
		{ id: 'chat.folder', group: 'chat', title: () => words().folder, when: isShown, run: () => open('folder') },
		{
			id: 'chat.export',
			group: 'chat',
			title: () => words().export,
			words: () => 'JSON Markdown',
			slash: 'export',
			when: isShown,
			run: () => open('export')
		},
		{
			id: 'chat.remove',
			group: 'chat',
			title: () => words().remove,
			keys: 'Mod+Shift+Backspace',
			slash: 'delete',
			when: isShown,
			run: async () => {
				const conversation = current();
				if (conversation) await remove(conversation);
			}
		},
		{ id: 'chat.previous', group: 'chat', title: () => words().previous, keys: 'Alt+ArrowUp', when: hasList, run: () => step(-1) },
		{ id: 'chat.next', group: 'chat', title: () => words().next, keys: 'Alt+ArrowDown', when: hasList, run: () => step(1) },
		{
			id: 'chat.exportAll',
			group: 'chat',
			title: () => words().exportAll,
			when: hasList,
			run: () => void (frame.dialog = { kind: 'export', conversation: null })
		},
		{ id: 'chat.import', group: 'chat', title: () => words().import, run: () => void (frame.dialog = { kind: 'import' }) },
		{
			id: 'chat.removeAll',
			group: 'chat',
			title: () => language.text.shell.removeAll,
			when: hasList,
			run: () => void (frame.dialog = { kind: 'removeAll' })
		},
		{
			id: 'view.palette',
			group: 'view',
			title: () => words().openPalette,
			keys: 'Mod+K',
			// it would list itself
			when: () => frame.dialog?.kind !== 'palette',
			run: () => void (frame.dialog = { kind: 'palette' })
		},
		{ id: 'view.sidebar', group: 'view', title: () => words().toggleList, keys: 'Mod+B', run: () => frame.toggleList() },
		{
			id: 'view.composer',
			group: 'view',
			title: () => words().focusComposer,
			keys: 'Mod+J',
			when: () => composerField() !== null,
			run: () => composerField()?.focus()
		},
		{
			id: 'view.shortcuts',
			group: 'view',
			title: () => words().shortcuts,
			keys: 'Mod+/',
			slash: 'help',
			run: () => void (frame.dialog = { kind: 'shortcuts' })
		},
		{ id: 'view.settings', group: 'view', title: () => words().openSettings, keys: 'Mod+,', slash: 'settings', run: () => goto(resolve('/settings')) },
		{
			id: 'view.theme',
			group: 'view',
			title: () => words().theme,
			run: () => theme.choose(isDark() ? 'light' : 'dark')
		},
		{
			id: 'view.admin',
			group: 'view',
			title: () => words().openAdmin,
			when: () => session.mayInspect,
			run: () => goto(resolve('/admin'))
		}
	];
}

function open(kind: 'rename' | 'folder' | 'export'): void {
	const id = currentId();
	if (id !== null) frame.dialog = { kind, conversation: id };
}

function hasList(): boolean {
	return conversations.list.length > 0;
}

/** Show the next conversation of the list, or the one before. */
async function step(by: number): Promise<void> {
	const list = inListOrder();
	const at = list.findIndex(({ id }) => id === currentId());
	const to = at < 0 ? list[0] : list[at + by];
	if (to) await show(to.id);
}

function isDark(): boolean {
	return theme.chosen === 'dark' || (theme.chosen === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
}
