/** Code as lines of coloured pieces. This module has the grammars: it is loaded when the first code is shown. */

import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import graphql from 'highlight.js/lib/languages/graphql';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import nginx from 'highlight.js/lib/languages/nginx';
import perl from 'highlight.js/lib/languages/perl';
import php from 'highlight.js/lib/languages/php';
import powershell from 'highlight.js/lib/languages/powershell';
import python from 'highlight.js/lib/languages/python';
import r from 'highlight.js/lib/languages/r';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { revealed } from '../invisible';
import { roleOf, type CodeLine, type Role } from './roles';

/** Longer code stays plain: the time for it is not bounded by its length alone. */
const LONGEST = 60_000;
const LONGEST_LINE = 5_000;

const GRAMMARS = {
	...{ bash, c, cpp, csharp, css, diff, dockerfile, go, graphql, ini, java, javascript, json, kotlin, lua, makefile, markdown },
	...{ nginx, perl, php, powershell, python, r, ruby, rust, shell, sql, swift, typescript, xml, yaml }
};
const lowlight = createLowlight(GRAMMARS);
lowlight.registerAlias({ javascript: ['node'], json: ['jsonc', 'json5', 'jsonl'], css: ['scss', 'less'], xml: ['svelte', 'vue'], python: ['python3'] });

interface Node {
	type: string;
	value?: string;
	children?: Node[];
	properties?: { className?: unknown[] };
}

/** The lines of the code in colours; null for a language that is not known, and for what is too long. */
export function highlighted(code: string, language: string): CodeLine[] | null {
	const name = language.toLowerCase();
	if (code.length > LONGEST || !lowlight.registered(name) || hasLongLine(code)) return null;
	const lines: CodeLine[] = [[]];
	try {
		append(lines, lowlight.highlight(name, code) as Node, null);
	} catch {
		return null;
	}
	return lines;
}

function append(lines: CodeLine[], node: Node, role: Role | null): void {
	for (const child of node.children ?? []) {
		if (child.type === 'text') appendText(lines, child.value ?? '', role);
		else append(lines, child, roleOf(child.properties?.className ?? []) ?? role);
	}
}

function appendText(lines: CodeLine[], text: string, role: Role | null): void {
	text.split('\n').forEach((part, at) => {
		if (at > 0) lines.push([]);
		if (!part) return;
		for (const piece of revealed(part)) lines.at(-1)?.push('text' in piece ? { text: piece.text, role } : piece);
	});
}

function hasLongLine(code: string): boolean {
	let start = 0;
	while (start < code.length) {
		const end = code.indexOf('\n', start);
		if ((end === -1 ? code.length : end) - start > LONGEST_LINE) return true;
		if (end === -1) return false;
		start = end + 1;
	}
	return false;
}
