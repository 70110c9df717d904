/**
 * The little that a browser does better by itself: the reader's own time and numbers, a dialog in the place of a page
 * that asks, no form sent twice, no empty parameters in an address. Everything works without it. As text, since what
 * is compiled or bundled later would no longer be what the policy has the hash of.
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

  // What was told once is not told again to whom the address is sent, or when the page is loaded anew.
  const address = new URL(location.href)
  if (address.searchParams.has('_command')) {
    address.searchParams.delete('_command')
    history.replaceState(null, '', address)
  }

  // No member of a form is used that a field could be named like.
  const isGet = form => form.getAttribute('method') === 'get'
  const listFields = form => [...form.querySelectorAll('.field')].map(field => [
    field.querySelector('label').textContent,
    field.querySelector('input:not([type=hidden]), select, textarea')
  ])
  const show = (list, form) => {
    list.replaceChildren()
    for (const [label, control] of listFields(form)) {
      const value = control.tagName === 'SELECT' ? control.selectedOptions[0].textContent : control.value
      if (control.value === '') continue
      const [term, detail] = [document.createElement('dt'), document.createElement('dd')]
      term.textContent = label
      detail.textContent = value
      detail.dir = 'auto'
      list.append(term, detail)
    }
  }

  const patience = 5000
  const sent = new WeakMap()
  document.addEventListener('submit', event => {
    const form = event.target
    if (isGet(form)) return
    const dialog = form.querySelector('dialog')
    if (dialog !== null && !dialog.contains(event.submitter)) {
      event.preventDefault()
      show(dialog.querySelector('.entered'), form)
      dialog.showModal()
      return
    }
    const now = Date.now()
    if (now - (sent.get(form) ?? -patience) < patience) event.preventDefault()
    else sent.set(form, now)
  })
  document.addEventListener('formdata', event => {
    const { target: form, formData } = event
    if (isGet(form)) {
      for (const name of new Set(formData.keys())) {
        const values = formData.getAll(name).filter(value => value !== '')
        formData.delete(name)
        for (const value of values) formData.append(name, value)
      }
    } else if (form.querySelector('dialog[open]') !== null) formData.delete('_confirm')
  })
  document.addEventListener('click', event => {
    if (event.target.matches('dialog .plain')) event.target.closest('dialog').close()
  })
  addEventListener('pageshow', event => {
    if (!event.persisted) return
    each('dialog[open]', dialog => dialog.close())
    each('form', form => sent.delete(form))
  })
})()
`
