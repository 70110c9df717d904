/**
 * The little that a browser does better by itself: the reader's own time and numbers, no empty parameters in an
 * address. Everything works without it. As text, since what is compiled or bundled later would no longer be what the
 * policy has the hash of.
 */
export const script = `
'use strict';
(() => {
  const each = (selector, act) => { for (const element of document.querySelectorAll(selector)) act(element) }

  const localize = (element, text) => {
    if (text === element.textContent) return
    element.title ||= element.textContent
    element.textContent = text
  }
  const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
  const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 })
  each('time[datetime]', time => {
    const date = new Date(time.dateTime)
    if (!Number.isNaN(date.getTime())) localize(time, (time.dateTime.length > 10 ? moment : day).format(date))
  })
  each('data.number', data => localize(data, number.format(data.value)))
  each('.origin', place => { place.textContent = location.origin })

  // A message is shown once, not again when the page is reloaded or its address is sent to others.
  const address = new URL(location.href)
  if (address.searchParams.has('_command')) {
    address.searchParams.delete('_command')
    history.replaceState(null, '', address)
  }

  // By its attribute: a field could be named like a member of the form.
  document.addEventListener('formdata', ({ target, formData }) => {
    if (target.getAttribute('method') !== 'get') return
    for (const [name, value] of [...formData]) if (value === '') formData.delete(name)
  })
})()
`
