declare module "*?worker&inline" {
  export default class extends Worker {
    constructor();
  }
}
