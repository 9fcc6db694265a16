// Stands in for charts.mjs in a program built with -DCUPILOT_REPORT_CHARTS=OFF.
for (const element of document.querySelectorAll('.chart')) {
  element.textContent = 'This cupilot was built without charts (CUPILOT_REPORT_CHARTS=OFF).';
}
