import Foundation

/// The reader of all inputs, named in the environment.
private let chosen: Target? = ProcessInfo.processInfo.environment["READER"].map { name in
    guard let target = Target(rawValue: name) else { preconditionFailure("no reader is named '\(name)'") }
    return target
}

/// Passes libFuzzer's inputs to a reader. Without a name in `READER`, the first byte of an input selects it.
///
/// A trap is a finding, and so is a value that changes when written and read. libFuzzer contains `main`.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: bytes, count: count)
    if let chosen {
        chosen.read(Array(input))
    } else if let first = input.first {
        Target.allCases[Int(first) % Target.allCases.count].read(Array(input.dropFirst()))
    }
    return 0
}
