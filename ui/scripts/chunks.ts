import type { Plugin, Rollup } from 'vite';

const ALL = /\/(client-optimized\/app|runtime\/client\/entry)\.js$|\/routes\/\+layout\.svelte$/;
const CHAT = /\/routes\/\(chat\)\/\+(layout|page)\.svelte$/;
const ADMIN = /\/routes\/(admin\/\+layout|sign-in\/\+page)\.svelte$/;
const OPERATORS = /\/routes\/(admin|sign-in)\/.*\.svelte$/;

/**
 * Put what pages load at once into few chunks, of which a page gets none that only others need: `all` (SvelteKit, Svelte,
 * and what the chat shares with pages for operators), `chat`, `admin`, and `parts` (tables, dialogs and fields). What is
 * loaded later, or by some of the pages for operators, is left to Rollup.
 */
export function chunks(): Plugin {
	return {
		name: 'stoker-chunks',
		config: (_, { isSsrBuild }) => (isSsrBuild ? {} : { build: { rollupOptions: { output: { manualChunks: chunkOf() } } } })
	};
}

function chunkOf(): Rollup.GetManualChunk {
	let groups: Record<'all' | 'chat' | 'admin' | 'operators', Set<string>> | undefined;
	return (id, { getModuleIds, getModuleInfo }) => {
		/** The modules of these names, and all that they import statically: so no two chunks need each other. */
		const importedBy = (name: RegExp): Set<string> => {
			const found = new Set([...getModuleIds()].filter((one) => name.test(one)));
			for (const one of found) for (const imported of getModuleInfo(one)?.importedIds ?? []) found.add(imported);
			return found;
		};
		groups ??= { all: importedBy(ALL), chat: importedBy(CHAT), admin: importedBy(ADMIN), operators: importedBy(OPERATORS) };
		const { all, chat, admin, operators } = groups;
		if (getModuleInfo(id)?.isEntry) return undefined;
		if (all.has(id) || (chat.has(id) && operators.has(id))) return 'all';
		if (chat.has(id)) return 'chat';
		if (admin.has(id)) return 'admin';
		return operators.has(id) && id.includes('/components/ui/') ? 'parts' : undefined;
	};
}
