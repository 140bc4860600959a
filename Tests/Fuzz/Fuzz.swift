/// Passes libFuzzer's inputs to every reader of bytes from outside. The first byte of an input selects the reader.
///
/// A trap is a finding, and so is a value that changes when written and read. libFuzzer contains `main`.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: bytes, count: count)
    guard let first = input.first else { return 0 }
    let target = Target.allCases[Int(first) % Target.allCases.count]
    target.read(Array(input.dropFirst()))
    return 0
}
