import TestSupport
import Testing

@testable import Workouts

@Suite struct CompactNumbersTests {
    @Test func `every number is restored bit by bit, in any order and after any change`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let special = [
                0, -0.0, .nan, 2_147.483647, 2_147.483648, -2_147.483648, 1e-7, 0.1, -179.1234567, .infinity,
            ]
            func number() -> Double {
                switch Int.random(in: 0..<20, using: &random) {
                case 0: special.randomElement(using: &random)!
                case 1: Double.random(in: -1e4...1e4, using: &random)
                default: Double(Int.random(in: -200_000...200_000, using: &random)) / 100
                }
            }
            let scale = [1e3, 1e6, 1e7].randomElement(using: &random)!
            var expected = (0..<Int.random(in: 0..<40, using: &random)).map { _ in number() }
            var numbers = CompactNumbers(expected, scale: scale)
            for _ in 0..<Int.random(in: 0..<20, using: &random) {
                let new = number()
                if let row = expected.indices.randomElement(using: &random), Bool.random(using: &random) {
                    expected[row] = new
                    numbers[row] = new
                } else {
                    expected.append(new)
                    numbers.append(new)
                }
            }
            #expect(numbers.count == expected.count)
            #expect(
                expected.indices.allSatisfy {
                    numbers[$0].bitPattern == expected[$0].bitPattern || numbers[$0].isNaN && expected[$0].isNaN
                })
            #expect(numbers == CompactNumbers(expected, scale: 1e6))
        }
    }
}
