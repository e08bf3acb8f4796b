import { expect, test } from 'vitest';
import type { Message } from '../../src/lib/chat_types';
import { newAnswer, newUserMessage } from '../../src/lib/services/chat/new_records';
import { besideOf, branchesAt, newestLeaf, pathTo, subtree } from '../../src/lib/services/chat/tree';

/** A tree of `[id, parent, role]`: `a2` is the second model's. */
function treeOf(...rows: [string, string | null][]): Map<string, Message> {
	return new Map(
		rows.map(([id, parent], at) => {
			const message = id.startsWith('u')
				? newUserMessage('c', parent, id, [])
				: newAnswer('c', parent, 'stub', { isSecond: id.startsWith('s') });
			return [id, { ...message, id, createdAt: at }];
		})
	);
}

const TREE = treeOf(['u1', null], ['a1', 'u1'], ['s1', 'u1'], ['a2', 'u1'], ['u2', 'a1'], ['a3', 'u2'], ['u3', 'a1'], ['u4', null]);

test('the path goes from the first message to the leaf', () => {
	expect(pathTo(TREE, 'a3')).toEqual(['u1', 'a1', 'u2', 'a3']);
	expect(pathTo(TREE, null)).toEqual([]);
	expect(pathTo(TREE, 'gone')).toEqual([]);
});

test('branches are the messages beside one, of the same side of a comparison', () => {
	expect(branchesAt(TREE, 'u1')).toEqual(['u1', 'u4']);
	expect(branchesAt(TREE, 'a1')).toEqual(['a1', 'a2']);
	expect(branchesAt(TREE, 's1')).toEqual(['s1']);
	expect(branchesAt(TREE, 'u2')).toEqual(['u2', 'u3']);
});

test('the newest leaf follows the newest branch, and the first model of a comparison', () => {
	expect(newestLeaf(TREE, 'u1')).toBe('a2');
	expect(newestLeaf(TREE, 'a1')).toBe('u3');
	expect(newestLeaf(TREE, null)).toBe('u4');
	expect(newestLeaf(new Map(), null)).toBeNull();
});

test('the answer beside one is the newest of the other model', () => {
	expect(besideOf(TREE, 'a2')).toBe('s1');
	expect(besideOf(TREE, 's1')).toBe('a2');
	expect(besideOf(TREE, 'a3')).toBeNull();
});

test('a subtree has all that follows a message', () => {
	expect(subtree(TREE, 'a1').sort()).toEqual(['a1', 'a3', 'u2', 'u3']);
});

test('a cycle or a missing parent, as a hostile import may have them, hide nothing and end', () => {
	const cycle = treeOf(['u1', 'a1'], ['a1', 'u1']);
	expect(pathTo(cycle, 'a1')).toEqual(['u1', 'a1']);
	expect(subtree(cycle, 'a1').sort()).toEqual(['a1', 'u1']);
	expect(newestLeaf(cycle, 'a1')).toMatch(/a1|u1/);
	const orphan = treeOf(['u9', 'gone']);
	expect(newestLeaf(orphan, null)).toBe('u9');
});
