/** Texts that run a script, send a request or mislead where a page takes Markdown for HTML, or an address as it comes. */

export const HTML = [
	'<script>alert(1)</script>',
	'<img src=x onerror=alert(1)>',
	'"><svg onload=alert(1)>',
	"<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
	'<a href=javascript:alert(1) autofocus onfocus=alert(1)>x</a>',
	'<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
	'<svg><style><img src=x onerror=alert(1)></style></svg>',
	'<base href=//evil.example/><link rel=stylesheet href=//evil.example/x.css>',
	'<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
	'<form action=//evil.example><input name=q autofocus onfocus=alert(1)></form>',
	'<details open ontoggle=alert(1)><summary>x</summary></details>',
	'<div style="background:url(//evil.example/x.png)">x</div>',
	'<!--><img src=x onerror=alert(1)>-->',
	'<![CDATA[<img src=x onerror=alert(1)>]]>',
	'<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
	'&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;',
	'{@html "<img src=x onerror=alert(1)>"} {{constructor.constructor("alert(1)")()}} ${alert(1)}'
];

export const ADDRESSES = [
	'javascript:alert(1)',
	'JaVaScRiPt:alert(1)',
	' javascript:alert(1)',
	'java\tscript:alert(1)',
	'java&#x0A;script:alert(1)',
	'&#106;avascript:alert(1)',
	'javascript&colon;alert(1)',
	'javascript://https://good.example/%0aalert(1)',
	'data:text/html,<script>alert(1)</script>',
	'data:image/svg+xml,<svg onload=alert(1)>',
	'data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+',
	'vbscript:msgbox(1)',
	'file:///etc/passwd',
	'blob:https://good.example/1',
	'//evil.example/x.png',
	'/v1/admin/models',
	'#composer',
	'https:evil.example',
	'http:\\\\evil.example',
	'ftp://evil.example/',
	'stoker://x',
	'https://'
];

/** The text at each place where Markdown takes one. */
export function everywhere(text: string): string[] {
	const line = text.replace(/\s+/g, ' ');
	return [
		text,
		`# ${line}`,
		`- ${line}\n- [ ] ${line}`,
		`> ${line}`,
		`| ${line} | b |\n|---|---|\n| ${line} | ${line} |`,
		`**${line}** _${line}_ ~~${line}~~`,
		`\`${line}\``,
		`\`\`\`${line}\n${text}\n\`\`\``,
		`\`\`\`html\n${text}`,
		`[${line}](https://good.example/)`,
		`![${line}](https://good.example/x.png)`,
		`[x](https://good.example/ "${line}")`,
		`[x][${line}]\n\n[${line}]: https://good.example/`,
		`Note[^1]\n\n[^1]: ${line}`,
		`Note[^${line}]`,
		`$${line}$ \\(${line}\\)\n\n$$\n${text}\n$$`,
		`    ${line}`
	];
}

/** The address at each place where Markdown takes one. */
export function asAddress(address: string): string[] {
	return [
		`[x](${address})`,
		`[x](<${address}>)`,
		`![x](${address})`,
		`![x](<${address}>)`,
		`<${address}>`,
		`[x][y]\n\n[y]: ${address}`,
		`![x][y]\n\n[y]: <${address}>`,
		`[![x](${address})](${address})`
	];
}
