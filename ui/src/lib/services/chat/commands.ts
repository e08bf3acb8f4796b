/** What the chat can do, as commands: the palette lists them, keys and `/` names run them. Each part adds its own. */
import { fold } from './fold';

export interface Command {
	/** `chat.new`, `answer.stop`, ... */
	id: string;
	/** The heading under which the list of shortcuts shows it. */
	group: CommandGroup;
	/** Its name in the chat's language at that time. */
	title: () => string;
	/** More words by which the palette finds it. */
	words?: () => string;
	/** `Mod+K`, `Mod+Shift+O`, `Escape`, `?`: Mod is Cmd on Apple's systems and Ctrl elsewhere. */
	keys?: string;
	/** The word after `/` in the composer; without one the command is not offered there. */
	slash?: string;
	/** Whether it can run now; always, if it is left out. */
	when?: () => boolean;
	/** Runs it. `rest` is the text after the `/` name. */
	run: (rest: string) => void | Promise<void>;
}

export const COMMAND_GROUPS = ['chat', 'answer', 'model', 'view'] as const;
export type CommandGroup = (typeof COMMAND_GROUPS)[number];

/** The commands of the page, in the order in which they were added. */
export class CommandRegistry {
	#commands = new Map<string, Command>();

	/** Add commands; one with the same id is replaced. Returns what removes them: a component calls it when it ends. */
	add(...added: Command[]): () => void {
		for (const command of added) this.#commands.set(command.id, command);
		return () => {
			for (const command of added) {
				if (this.#commands.get(command.id) === command) this.#commands.delete(command.id);
			}
		};
	}

	/** All, also those that cannot run now. */
	all(): Command[] {
		return [...this.#commands.values()];
	}

	/** Those that can run now. */
	available(): Command[] {
		return this.all().filter(canRun);
	}

	/** Those that can run now and have all words of `query` in their name: names that begin with it come first. */
	search(query: string): Command[] {
		const words = fold(query).split(/\s+/).filter(Boolean);
		return this.available()
			.map((command) => ({ command, rank: rankOf(command, words) }))
			.filter(({ rank }) => rank < NO_MATCH)
			.sort((one, other) => one.rank - other.rank)
			.map(({ command }) => command);
	}

	/** Those with a `/` name that begins with `prefix`, by name. */
	slashes(prefix: string): Command[] {
		return this.available()
			.filter((command) => command.slash?.startsWith(prefix.toLowerCase()))
			.sort((one, other) => (one.slash ?? '').localeCompare(other.slash ?? ''));
	}

	/** The command of a key press that can run now. Keys without Ctrl or Cmd do not count while a text is typed. */
	ofKeys(event: KeyPress, isTyping: boolean): Command | undefined {
		// each key that is typed comes here: whether a command can run is asked of its own keys alone
		return this.all().find((command) => command.keys !== undefined && isPressed(command.keys, event, isTyping) && canRun(command));
	}

	/** Run the command with this id, if it is there and can run. */
	async run(id: string, rest = ''): Promise<void> {
		const command = this.#commands.get(id);
		if (command && canRun(command)) await command.run(rest);
	}
}

/** The commands of this page. */
export const commands = new CommandRegistry();

/** What is used of a `KeyboardEvent`. */
export type KeyPress = Pick<
	KeyboardEvent,
	'key' | 'code' | 'keyCode' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey' | 'isComposing' | 'repeat'
>;

const IS_APPLE = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform);

/**
 * Whether a key press belongs to an input method. In Safari the Enter that confirms a text comes after the end of the
 * composition; its `keyCode` tells it from others.
 */
export function isComposed(event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean {
	return event.isComposing || event.keyCode === 229;
}

/** Whether a key press is that of `keys`. A press that belongs to an input method is none. */
export function isPressed(keys: string, event: KeyPress, isTyping: boolean, isApple = IS_APPLE): boolean {
	if (isComposed(event) || event.repeat) return false;
	const parts = keys.split('+');
	const key = parts.at(-1) ?? '';
	const needs = new Set(parts.slice(0, -1));
	const mod = isApple ? event.metaKey : event.ctrlKey;
	const otherMod = isApple ? event.ctrlKey : event.metaKey;
	if (mod !== needs.has('Mod') || otherMod || event.altKey !== needs.has('Alt')) return false;
	const isNamed = key.length > 1 || /[a-z0-9]/i.test(key);
	// a sign such as `?` needs Shift on some keyboards and not on others
	if (isNamed && event.shiftKey !== needs.has('Shift')) return false;
	if (isTyping && !mod && key !== 'Escape') return false;
	return keyOf(event) === key.toLowerCase();
}

/** The key in lower case; of a keyboard without Latin letters, the letter at that place of a Latin one. */
function keyOf(event: KeyPress): string {
	const key = event.key.toLowerCase();
	const isLatin = key.length > 1 || key.charCodeAt(0) < 0x80;
	return isLatin ? key : (/^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase() ?? key);
}

const SIGNS: Record<string, string> = { Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓' };

/** The keys as they are written on a keyboard, one by one: `Ctrl`, `K`. */
export function keyNames(keys: string, isApple = IS_APPLE): string[] {
	return keys.split('+').map((part) => {
		if (part === 'Mod') return isApple ? '⌘' : 'Ctrl';
		if (part === 'Shift') return isApple ? '⇧' : 'Shift';
		if (part === 'Alt') return isApple ? '⌥' : 'Alt';
		return SIGNS[part] ?? part;
	});
}

function canRun(command: Command): boolean {
	return command.when?.() ?? true;
}

const NO_MATCH = 3;

function rankOf(command: Command, words: readonly string[]): number {
	const title = fold(command.title());
	const all = `${title} ${fold(command.words?.() ?? '')} ${command.slash ?? ''}`;
	if (!words.every((word) => all.includes(word))) return NO_MATCH;
	if (title.startsWith(words[0] ?? '')) return 0;
	return words.every((word) => title.includes(word)) ? 1 : 2;
}
