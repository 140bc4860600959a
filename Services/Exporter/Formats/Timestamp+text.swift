import Workouts

extension [UInt8] {
    /// A moment in UTC, such as `2014-01-16T18:48:44.340Z`, the last digit rounded.
    ///
    /// - Parameter decimals: how many the seconds have, 0 to 6. Years before 1 and after 9999 become these.
    mutating func append(_ time: Timestamp, decimals: Int) {
        let ticksPerSecond = (0..<decimals).reduce(into: Int64(1)) { power, _ in power *= 10 }
        let ticks = time.ticks(of: 1_000_000 / ticksPerSecond)
        let seconds = floor(ticks, by: ticksPerSecond)
        let days = floor(seconds, by: 86_400)
        let (year, month, day) = date(days)
        let second = seconds - days * 86_400
        append(year, digits: 4)
        append("-")
        append(month, digits: 2)
        append("-")
        append(day, digits: 2)
        append("T")
        append(second / 3_600, digits: 2)
        append(":")
        append(second / 60 % 60, digits: 2)
        append(":")
        append(second % 60, digits: 2)
        if decimals > 0 {
            append(".")
            append(ticks - seconds * ticksPerSecond, digits: decimals)
        }
        append("Z")
    }
}

extension Timestamp {
    /// The years 1 to 9999, in Unix seconds.
    private static let written: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// The nearest whole number of units since 1970, within the years that can be written.
    ///
    /// - Parameter unit: microseconds.
    func ticks(of unit: Int64) -> Int64 {
        let range = Self.written.lowerBound * 1_000_000...Self.written.upperBound * 1_000_000
        let clamped = Swift.min(Swift.max(microseconds, range.lowerBound), range.upperBound)
        return floor(clamped + unit / 2, by: unit)
    }
}

/// A quotient rounded down, also below zero.
private func floor(_ dividend: Int64, by divisor: Int64) -> Int64 {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
}

/// The Gregorian date so many days after 1970-01-01, counted in years that begin in March so that leap days come last.
private func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let sinceMarch = days + 719_468
    let era = floor(sinceMarch, by: 146_097)
    let dayOfEra = sinceMarch - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * month + 2) / 5 + 1
    let year = yearOfEra + era * 400
    return month < 10 ? (year, month + 3, day) : (year + 1, month - 9, day)
}
