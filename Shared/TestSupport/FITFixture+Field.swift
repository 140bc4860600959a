package import FIT

extension FITFixture {
    /// A field to write: its number, and its elements in the type of the definition.
    package struct Field {
        package let number: UInt8
        /// The byte of the type.
        package let type: UInt8
        /// Little endian.
        private let elements: [[UInt8]]

        var size: UInt8 { UInt8(elements.reduce(0) { $0 + $1.count }) }

        func bytes(bigEndian: Bool) -> [UInt8] { elements.flatMap { bigEndian ? $0.reversed() : $0 } }

        /// One element or an array, of any type, including unknown types.
        package init(_ number: UInt8, type: UInt8, elements: [[UInt8]]) {
            self.number = number
            self.type = type
            self.elements = elements
        }

        /// Integers, truncated to the size of the type.
        package init(_ number: UInt8, _ type: FITBaseType, _ values: Int...) {
            self.init(number, type: type.code, elements: values.map { Array($0.littleEndianBytes.prefix(type.size)) })
        }

        package static func float32(_ number: UInt8, _ value: Float) -> Field {
            Field(number, type: FITBaseType.float32.code, elements: [value.bitPattern.littleEndianBytes])
        }

        /// Text, a zero byte, and zeros up to the size.
        package static func string(_ number: UInt8, _ text: String, size: Int) -> Field {
            let padded = (Array(text.utf8) + Array(repeating: 0, count: size)).prefix(size)
            return Field(number, type: FITBaseType.string.code, elements: padded.map { [$0] })
        }

        /// A time from whole Unix seconds.
        package static func time(_ number: UInt8, _ unixSeconds: Int) -> Field {
            Field(number, .uint32, unixSeconds - 631_065_600)
        }
    }
}
