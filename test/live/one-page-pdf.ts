/** A PDF of one page with one line of ASCII text, without parentheses (ISO 32000-1, section 7.5). */
export function onePagePdf(text: string): Buffer {
  const content = `BT /F1 24 Tf 20 40 Td (${text}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 100] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ].map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`);
  const header = '%PDF-1.4\n';
  const offsets = objects.map((_, at) => header.length + objects.slice(0, at).join('').length);
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const size = objects.length + 1;
  return Buffer.from(
    `${header}${objects.join('')}xref\n0 ${size}\n0000000000 65535 f \n${entries.join('')}` +
      `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${header.length + objects.join('').length}\n%%EOF\n`,
  );
}
