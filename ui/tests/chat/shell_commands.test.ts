import { expect, test, vi } from 'vitest';
import { CommandRegistry, isPressed, keyNames, type Command, type KeyPress } from '$lib/services/chat/commands';

function command(id: string, title: string, more: Partial<Command> = {}): Command {
	return { id, group: 'chat', title: () => title, run: () => undefined, ...more };
}

function press(key: string, more: Partial<KeyPress> = {}): KeyPress {
	return {
		key,
		code: '',
		ctrlKey: false,
		metaKey: false,
		shiftKey: false,
		altKey: false,
		isComposing: false,
		keyCode: 0,
		repeat: false,
		...more
	};
}

test('search lists names that begin with the words first, then names that have them, then those found by other words', () => {
	const registry = new CommandRegistry();
	registry.add(
		command('a', 'Export everything', { words: () => 'chat backup' }),
		command('b', 'New chat'),
		command('c', 'Chát settings'),
		command('d', 'Stop')
	);
	expect(registry.search('chat').map(({ id }) => id)).toEqual(['c', 'b', 'a']);
	expect(registry.search('').map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
});

test('a command that cannot run now is not offered and does not run', async () => {
	const registry = new CommandRegistry();
	const run = vi.fn();
	registry.add(command('a', 'Stop', { when: () => false, keys: 'Escape', slash: 'stop', run }));
	expect(registry.search('stop')).toEqual([]);
	expect(registry.slashes('st')).toEqual([]);
	expect(registry.ofKeys(press('Escape'), false)).toBeUndefined();
	await registry.run('a');
	expect(run).not.toHaveBeenCalled();
});

test('a key that is typed asks no command of other keys whether it can run', () => {
	const registry = new CommandRegistry();
	const when = vi.fn(() => true);
	registry.add(command('a', 'Stop', { when, keys: 'Mod+.' }), command('b', 'Copy', { when }));
	expect(registry.ofKeys(press('x'), true)).toBeUndefined();
	expect(when).not.toHaveBeenCalled();
	expect(registry.ofKeys(press('.', { ctrlKey: true }), true)?.id).toBe('a');
});

test('removing a command leaves the one that has replaced it', () => {
	const registry = new CommandRegistry();
	const removeFirst = registry.add(command('a', 'First'));
	registry.add(command('a', 'Second'));
	removeFirst();
	expect(registry.all().map(({ title }) => title())).toEqual(['Second']);
});

test('a key press is matched with its modifiers, on each system', () => {
	expect(isPressed('Mod+K', press('k', { ctrlKey: true }), true, false)).toBe(true);
	expect(isPressed('Mod+K', press('k', { metaKey: true }), true, true)).toBe(true);
	expect(isPressed('Mod+K', press('k', { metaKey: true }), true, false)).toBe(false);
	expect(isPressed('Mod+K', press('K', { ctrlKey: true, shiftKey: true }), false, false)).toBe(false);
	expect(isPressed('Mod+Shift+O', press('O', { ctrlKey: true, shiftKey: true }), false, false)).toBe(true);
	expect(isPressed('Mod+K', press('k', { ctrlKey: true, altKey: true }), false, false)).toBe(false);
});

test('a letter is found by its place on a keyboard without Latin letters', () => {
	expect(isPressed('Mod+K', press('л', { code: 'KeyK', ctrlKey: true }), true, false)).toBe(true);
});

test('a key without a modifier does nothing while a text is typed, and none does while an input method composes', () => {
	expect(isPressed('?', press('?', { shiftKey: true }), false, false)).toBe(true);
	expect(isPressed('?', press('?', { shiftKey: true }), true, false)).toBe(false);
	expect(isPressed('Escape', press('Escape'), true, false)).toBe(true);
	expect(isPressed('Escape', press('Escape', { isComposing: true }), true, false)).toBe(false);
	expect(isPressed('Escape', press('Escape', { keyCode: 229 }), true, false)).toBe(false);
});

test('keys are named as on the keyboard of the system', () => {
	expect(keyNames('Mod+Shift+O', false)).toEqual(['Ctrl', 'Shift', 'O']);
	expect(keyNames('Mod+Shift+O', true)).toEqual(['⌘', '⇧', 'O']);
});
