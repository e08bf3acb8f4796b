/** TeX as MathML. This module has the library: it is loaded when the first formula is shown. */

import temml from 'temml/temml.js';
import 'temml/dist/Temml-Local.css';

/** `trust: false` refuses links, images, classes and styles; the others bound the time and the size. */
const OPTIONS = { trust: false, throwOnError: true, maxExpand: 200, maxSize: [20, 400], strict: false, annotate: false };

/** Show the formula in the element. Returns false, and leaves it empty, if it is not valid. */
export function showFormula(element: HTMLElement, tex: string, isBlock: boolean): boolean {
	try {
		temml.render(tex, element, { ...OPTIONS, displayMode: isBlock });
	} catch {
		element.textContent = '';
		return false;
	}
	for (const node of element.querySelectorAll('[id],[href]')) {
		node.removeAttribute('id'); // a label could take the name of an element of the page
		node.removeAttribute('href');
	}
	return true;
}
