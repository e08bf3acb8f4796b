/** What all devices know of a conversation besides its messages: the metadata of the platform's conversation. */
import type { ChatSettings, Conversation } from '$lib/chat_types';
import { lineOf, textOf } from '$lib/services/chat/import_fields';
import { settingsFrom } from '$lib/services/chat/presets';

/** Names and values. The platform keeps 16 of them, each of at most 512 characters. */
export type Facts = Record<string, string>;

const MAX_VALUE = 512;
const PIECES = 8;
const SETTINGS = 'settings_';
/** What is changed together: the pieces of the settings are one. */
const NAMES = ['title', 'titled', 'folder', 'pinned', 'leaf', 'changed_at', 'settings'] as const;
type Name = (typeof NAMES)[number];

/** Whether a conversation of the platform is one of the chat; one that is being moved there is not yet. */
export function isOfChat(metadata: Facts): boolean {
	return metadata.chat === '1';
}

/** The facts of a conversation; what is empty is left out. */
export function factsOf(conversation: Conversation, isMoving = false): Facts {
	const { id, title, isTitled, folder, isPinned, leaf, changedAt, settings } = conversation;
	return {
		chat: isMoving ? 'moving' : '1',
		id,
		changed_at: String(changedAt),
		...(title && { title: textOf(title, MAX_VALUE) }),
		...(isTitled && { titled: '1' }),
		...(folder && { folder: textOf(folder, MAX_VALUE) }),
		...(isPinned && { pinned: '1' }),
		...(leaf && { leaf: textOf(leaf, MAX_VALUE) }),
		...settingsIn(settings)
	};
}

/** The settings in pieces. Instructions, or even all of them, are left out where they do not fit. */
function settingsIn(settings: ChatSettings): Facts {
	for (const signs of [signsOf(settings), signsOf(withoutInstructions(settings))]) {
		if (signs.length > PIECES * MAX_VALUE) continue;
		const pieces: Facts = {};
		for (let at = 0; at * MAX_VALUE < signs.length; at += 1) {
			pieces[SETTINGS + at] = signs.slice(at * MAX_VALUE, (at + 1) * MAX_VALUE).join('');
		}
		return pieces;
	}
	return {};
}

/** What of the settings is left out, as it does not fit: the instructions, or all; null: nothing is. */
export function leftHere(settings: ChatSettings): 'instructions' | 'settings' | null {
	const fits = (tried: object) => signsOf(tried).length <= PIECES * MAX_VALUE;
	if (fits(settings)) return null;
	return fits(withoutInstructions(settings)) ? 'instructions' : 'settings';
}

function withoutInstructions(settings: ChatSettings): object {
	return { ...settings, instructions: undefined };
}

function signsOf(settings: object): string[] {
	return [...JSON.stringify(settings).replace(/\p{Surrogate}/gu, '\ufffd')];
}

function valueOf(facts: Facts, name: Name): string {
	if (name !== 'settings') return facts[name] ?? '';
	return Array.from({ length: PIECES }, (_, at) => facts[SETTINGS + at] ?? '').join('');
}

/** The names of what differs. */
export function changedIn(before: Facts, after: Facts): Name[] {
	return NAMES.filter((name) => valueOf(before, name) !== valueOf(after, name));
}

/** The conversation with these facts of another device, which are checked: what does not fit stays as it is. */
export function withFacts(conversation: Conversation, facts: Facts, names: readonly Name[]): Conversation {
	const changed = { ...conversation };
	for (const name of names) {
		const value = valueOf(facts, name);
		if (name === 'title') changed.title = lineOf(value, 200);
		else if (name === 'titled') changed.isTitled = value === '1';
		else if (name === 'folder') changed.folder = lineOf(value, 100) || null;
		else if (name === 'pinned') changed.isPinned = value === '1';
		else if (name === 'leaf') changed.leaf = value || null;
		else if (name === 'changed_at') changed.changedAt = Math.min(Number(value) || changed.changedAt, Date.now());
		else changed.settings = settingsWith(value, changed.settings);
	}
	return changed;
}

function settingsWith(text: string, known: ChatSettings): ChatSettings {
	try {
		return settingsFrom({ instructions: known.instructions, ...(JSON.parse(text) as object) });
	} catch {
		return known; // none, or of a version with other fields
	}
}
