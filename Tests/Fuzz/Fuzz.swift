/// Takes libFuzzer's inputs to every reader of bytes from outside: the first byte of an input says which one.
///
/// A trap is a finding, and so is a value that is not the same after it was written and read again. `main` is libFuzzer's.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: bytes, count: count)
    guard let first = input.first else { return 0 }
    let target = Target.allCases[Int(first) % Target.allCases.count]
    target.read(Array(input.dropFirst()))
    return 0
}
