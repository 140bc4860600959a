import Testing
import Workouts

@testable import Formats

@Suite struct FixedPointTests {
    private func text(_ value: Double?, decimals: Int) -> String? {
        FixedPoint(value, decimals: decimals).map { number in
            var bytes: [UInt8] = []
            bytes.append(number)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Test(
        arguments: [
            (0, 3, "0"), (-0.0, 3, "0"), (-0.0001, 3, "0"), (1, 0, "1"), (10, 3, "10"), (0.05, 2, "0.05"),
            (-0.5, 3, "-0.5"), (1.0005, 3, "1.001"), (13.040000000000001, 3, "13.04"), (100.1, 6, "100.1"),
            (46.164641980, 8, "46.16464198"), (1e-5, 8, "0.00001"), (9e11, 3, "900000000000"),
        ] as [(Double, Int, String)])
    func `a number has as few decimals as possible and no exponent`(value: Double, decimals: Int, written: String) {
        #expect(text(value, decimals: decimals) == written)
    }

    @Test(arguments: [nil, .nan, .infinity, -.infinity, 1e300, -1e13] as [Double?])
    func `NaN, infinity and numbers out of range are nil`(value: Double?) {
        #expect(text(value, decimals: 3) == nil)
    }

    @Test func `a time is read as written`() throws {
        for microseconds: Int64 in [
            0, -1, 1_700_000_000_123_456, 951_782_400_000_000, 951_868_799_999_999, -62_135_596_800_000_000,
            4_107_542_399_000_000, 1_767_225_599_999_000,
        ] {
            let time = Timestamp(microseconds: microseconds)
            var bytes: [UInt8] = []
            bytes.append(time, decimals: 6)
            #expect(Timestamp(iso8601: String(decoding: bytes, as: UTF8.self)) == time)
        }
    }

    @Test(
        arguments: [
            (951_782_400_000_000, 0, "2000-02-29T00:00:00Z"), (-1, 3, "1970-01-01T00:00:00.000Z"),
            (-1_000, 3, "1969-12-31T23:59:59.999Z"), (1_999_999_999_999, 3, "1970-01-24T03:33:20.000Z"),
            (.max, 3, "9999-12-31T23:59:59.000Z"), (.min, 0, "0001-01-01T00:00:00Z"),
        ] as [(Int64, Int, String)])
    func `a time is rounded to its decimals and clamped to years of four digits`(
        microseconds: Int64, decimals: Int, written: String
    ) {
        var bytes: [UInt8] = []
        bytes.append(Timestamp(microseconds: microseconds), decimals: decimals)
        #expect(String(decoding: bytes, as: UTF8.self) == written)
    }
}
