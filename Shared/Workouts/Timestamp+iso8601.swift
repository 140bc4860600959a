extension Timestamp {
    /// Reads `2014-01-16T18:48:44.340Z`. The fraction is optional and may have any number of digits, an offset such as
    /// `+01:00` may replace `Z`, and a text without either is UTC.
    package init?(iso8601 text: some StringProtocol) {
        var rest = Substring(text)[...]
        func number(_ digits: Int) -> Int? {
            let part = rest.prefix(digits)
            guard part.utf8.count == digits, part.utf8.allSatisfy(isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            return Int(part)
        }
        func skip(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2), skip("T"),
            let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var microseconds: Int64 = 0
        if skip(".") {
            let digits = rest.prefix { $0.utf8.allSatisfy(isDigit) }
            guard let fraction = Double("0.\(digits)0") else { return nil }
            microseconds = Int64((fraction * 1e6).rounded())
            rest = rest.dropFirst(digits.count)
        }
        var offset = 0
        if let sign = rest.first, sign == "+" || sign == "-" {
            rest = rest.dropFirst()
            guard let hours = number(2), hours < 24 else { return nil }
            _ = skip(":")
            guard let minutes = rest.isEmpty ? 0 : number(2), minutes < 60 else { return nil }
            offset = (sign == "+" ? 60 : -60) * (hours * 60 + minutes)
        } else {
            _ = skip("Z")
        }
        guard rest.isEmpty else { return nil }
        let days = CivilDate(year: Int64(year), month: Int64(month), day: Int64(day)).daysSinceEpoch
        let seconds = days * 86_400 + Int64(hour * 3_600 + minute * 60 + second - offset)
        self.init(microseconds: seconds * 1_000_000 + microseconds)
    }

    /// The year in UTC.
    package var year: Int { Int(CivilDate(daysSinceEpoch: floor(microseconds, by: 86_400_000_000)).year) }

    /// The years 1 to 9999, in Unix seconds.
    private static let written: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// The nearest whole number of units since 1970, within the years that can be written.
    ///
    /// - Parameter unit: microseconds.
    package func ticks(of unit: Int64) -> Int64 {
        let range = Self.written.lowerBound * 1_000_000...Self.written.upperBound * 1_000_000
        let clamped = Swift.min(Swift.max(microseconds, range.lowerBound), range.upperBound)
        return floor(clamped + unit / 2, by: unit)
    }
}

extension [UInt8] {
    /// A moment in UTC, such as `2014-01-16T18:48:44.340Z`, the last digit rounded.
    ///
    /// - Parameter decimals: how many the seconds have, 0 to 6. Years before 1 and after 9999 become these.
    package mutating func append(_ time: Timestamp, decimals: Int) {
        let ticksPerSecond = (0..<decimals).reduce(into: Int64(1)) { power, _ in power *= 10 }
        let ticks = time.ticks(of: 1_000_000 / ticksPerSecond)
        let seconds = floor(ticks, by: ticksPerSecond)
        let days = floor(seconds, by: 86_400)
        let date = CivilDate(daysSinceEpoch: days)
        let second = seconds - days * 86_400
        append(date.year, digits: 4, then: "-")
        append(date.month, digits: 2, then: "-")
        append(date.day, digits: 2, then: "T")
        append(second / 3_600, digits: 2, then: ":")
        append(second / 60 % 60, digits: 2, then: ":")
        append(second % 60, digits: 2, then: decimals > 0 ? "." : "Z")
        if decimals > 0 { append(ticks - seconds * ticksPerSecond, digits: decimals, then: "Z") }
    }

    /// A whole number with leading zeros, and what follows it.
    private mutating func append(_ number: Int64, digits: Int, then end: Unicode.Scalar) {
        let start = count
        var rest = number.magnitude
        for _ in 0..<digits {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        }
        self[start...].reverse()
        append(UInt8(ascii: end))
    }
}

/// A day of the proleptic Gregorian calendar.
///
/// Both conversions count in years that begin in March: the leap day is then the last of its year.
private struct CivilDate {
    let year, month, day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceEpoch days: Int64) {
        let sinceMarch = days + 719_468
        let era = floor(sinceMarch, by: 146_097)
        let dayOfEra = sinceMarch - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let isNextYear = monthFromMarch >= 10
        year = yearOfEra + era * 400 + (isNextYear ? 1 : 0)
        month = monthFromMarch + (isNextYear ? -9 : 3)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// Days after 1970-01-01, for years from 0 on.
    var daysSinceEpoch: Int64 {
        let year = month <= 2 ? self.year - 1 : self.year
        let month = month <= 2 ? self.month + 9 : self.month - 3
        return year * 365 + floor(year, by: 4) - floor(year, by: 100) + floor(year, by: 400) + (month * 153 + 2) / 5
            + day - 1 - 719_468
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// A quotient rounded down, also below zero.
private func floor(_ dividend: Int64, by divisor: Int64) -> Int64 {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
}
