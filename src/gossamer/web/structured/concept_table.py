"""The table of concepts.

What people call it, divided by commas; after `=` where it is in a record (schema.org's names, best first,
with `Kind/` before what holds for records of that kind only), after `@` in which meta elements, after `>`
which field of `Metadata` says it of the page.
"""

from typing import Final

TABLE: Final = """
title, name, headline, heading, page title, article title, product name, product title, item
  name, event name, recipe name, post title, book title, full name
= headline name title
@ og:title twitter:title dc.title citation_title parsely-title
> title
description, summary, abstract, teaser, excerpt, subtitle, about, product description, meta description,
  overview
= description abstract about disambiguatingDescription
@ description og:description twitter:description dc.description
> description
author, byline, writer, written by, creator, author name, posted by, by, journalist, reporter
= author.name author creator.name creator
@ author article:author dc.creator citation_author parsely-author twitter:creator
> author
published, date published, publish date, publication date, published at, published on, pub date, date,
  posted, post date, posted on, created, created at, release date, released, date posted, upload date
= datePublished dateCreated datePosted uploadDate releaseDate
@ article:published_time og:article:published_time date dc.date citation_publication_date
  parsely-pub-date pubdate
> published_at
modified, date modified, updated, updated at, last updated, last modified, modified at, update date
= dateModified
@ article:modified_time og:updated_time last-modified
> modified_at
site, site name, website, publisher, publication, source, publisher name, outlet
= publisher.name publisher isPartOf.name
@ og:site_name application-name
> site_name
image, picture, photo, thumbnail, cover, main image, image url, picture url, photo url, thumbnail url,
  cover image, featured image, poster
= image.url image.contentUrl image thumbnailUrl primaryImageOfPage.url logo.url
@ og:image og:image:url twitter:image twitter:image:src
> image
url, link, canonical, canonical url, permalink, page url, address of page, product url, web address
= url mainEntityOfPage @id
@ og:url
> canonical
language, lang, locale
= inLanguage
@ content-language og:locale language
> language
keyword, tag, topic, label, subject
= keywords about.name
@ keywords news_keywords article:tag
> keywords
price, cost, amount, sale price, current price, price amount, unit price, selling price, price value
= offers.price offers.lowPrice offers.priceSpecification.price price lowPrice priceSpecification.price
  baseSalary.value.value
@ product:price:amount og:price:amount product:sale_price:amount
currency, price currency, currency code
= offers.priceCurrency offers.priceSpecification.priceCurrency priceCurrency baseSalary.currency
  currency
@ product:price:currency og:price:currency
low price, lowest price, minimum price, min price, price from
= offers.lowPrice lowPrice offers.priceSpecification.minPrice
high price, highest price, maximum price, max price, price to
= offers.highPrice highPrice offers.priceSpecification.maxPrice
list price, original price, regular price, old price, msrp, strikethrough price
= offers.priceSpecification.price
@ product:original_price:amount
availability, in stock, stock, stock status, available, is available, is in stock
= offers.availability availability
@ product:availability og:availability
condition, item condition
= offers.itemCondition itemCondition
@ product:condition
brand, brand name, make, manufacturer, maker
= brand.name brand manufacturer.name manufacturer
@ product:brand og:brand
seller, merchant, vendor, sold by, shop
= offers.seller.name offers.seller seller.name seller
sku, article number, item number, product code, product id, stock keeping unit, product number
= sku productID mpn
@ product:retailer_item_id
mpn, manufacturer part number, part number, model number
= mpn model
gtin, ean, upc, barcode, gtin13
= gtin13 gtin gtin14 gtin12 gtin8
@ product:ean product:upc product:gtin
isbn, isbn 13, isbn13
= isbn workExample.isbn
@ book:isbn books:isbn citation_isbn
model, model name
= model.name model
color, colour
= color
@ product:color
size
= size
@ product:size
material
= material
@ product:material
weight
= weight.value weight
@ product:weight:value
width
= width.value width
height
= height.value height
depth
= depth.value depth
category, section, genre, department, product category, article section
= articleSection category.name category genre
@ article:section product:category
rating, stars, score, average rating, rating value, star rating, review score, customer rating
= aggregateRating.ratingValue reviewRating.ratingValue ratingValue starRating.ratingValue
@ rating og:rating
best rating, max rating, maximum rating
= aggregateRating.bestRating reviewRating.bestRating bestRating
@ og:rating_scale
review count, number of reviews, reviews count, rating count, number of ratings, ratings count, num
  reviews, total reviews, votes
= aggregateRating.reviewCount aggregateRating.ratingCount reviewCount ratingCount
@ og:review_count
review, customer review, user review, testimonial
= review reviews
comment
= comment comments
comment count, number of comments, comments count
= commentCount
view, view count, views count, plays
= interactionStatistic.userInteractionCount interactionCount
body, content, article body, full text, article text, text, review text, review body, comment text
= articleBody reviewBody text
word count, number of words
= wordCount
start, start date, starts, starts at, start time, event date, begins, when
= startDate
@ event:start_time
end, end date, ends, ends at, end time
= endDate
@ event:end_time
location, venue, place, where, event location, job location, venue name
= location.name location.address location jobLocation.address jobLocation contentLocation.name
address, postal address, full address, street address, mailing address
= address location.address streetAddress
@ business:contact_data:street_address og:street-address
street
= address.streetAddress location.address.streetAddress streetAddress
@ og:street-address
city, town, locality
= address.addressLocality location.address.addressLocality jobLocation.address.addressLocality
  addressLocality
@ og:locality
state, region, province
= address.addressRegion location.address.addressRegion jobLocation.address.addressRegion addressRegion
@ og:region
zip, postal code, postcode, zip code
= address.postalCode location.address.postalCode postalCode
@ og:postal-code
country, country name
= address.addressCountry.name address.addressCountry location.address.addressCountry addressCountry
@ og:country-name
latitude, lat
= geo.latitude location.geo.latitude latitude
@ place:location:latitude og:latitude
longitude, lon, lng, long
= geo.longitude location.geo.longitude longitude
@ place:location:longitude og:longitude
phone, telephone, phone number, tel, telephone number
= telephone contactPoint.telephone address.telephone
@ business:contact_data:phone_number og:phone_number
email, e mail, mail, email address, contact email
= email contactPoint.email
@ business:contact_data:email og:email
opening hour, hours, business hours
= openingHours openingHoursSpecification
price range
= priceRange
organizer, host, organiser, hosted by
= organizer.name organizer
performer, artist, speaker, act, band
= performer.name performer byArtist.name byArtist
director
= director.name director
actor, cast, starring
= actor.name actor
company, employer, organization, organisation, hiring organization, company name, employer name
= hiringOrganization.name hiringOrganization worksFor.name affiliation.name
job title, position, role, occupation
= jobTitle JobPosting/title
employment type, job type, contract type
= employmentType
salary, pay, wage, compensation, base salary
= baseSalary.value.value baseSalary.value.minValue baseSalary baseSalary.value
minimum salary, min salary, salary min, salary from
= baseSalary.value.minValue baseSalary.minValue
maximum salary, max salary, salary max, salary to
= baseSalary.value.maxValue baseSalary.maxValue
expires, valid through, closing date, application deadline, deadline, expiry date
= validThrough expires priceValidUntil offers.priceValidUntil
ingredient, recipe ingredient
= recipeIngredient ingredients
instruction, step, direction, method, recipe instruction, preparation
= recipeInstructions.text recipeInstructions.itemListElement.text recipeInstructions step.text step
prep time, preparation time
= prepTime
cook time, cooking time
= cookTime
total time, ready in, time
= totalTime
serving, yield, portion, recipe yield, serves
= recipeYield yield
calory, calorie, energy, kcal
= nutrition.calories calories
cuisine
= recipeCuisine servesCuisine
duration, length, running time, runtime
= duration timeRequired
@ og:video:duration video:duration
video, video url, trailer
= video.contentUrl video.embedUrl video.url contentUrl embedUrl
@ og:video og:video:url
number of pages, page count, pages
= numberOfPages
edition
= bookEdition
format, book format
= bookFormat
version, software version
= softwareVersion version
license, licence
= license.name license
operating system, platform
= operatingSystem
download url, download link
= downloadUrl
breadcrumb
= BreadcrumbList/itemListElement.name BreadcrumbList/itemListElement.item.name
  breadcrumb.itemListElement.name breadcrumb.itemListElement.item.name
question
= Question/name Question/text
answer
= acceptedAnswer.text suggestedAnswer.text Answer/text
faq, frequently asked question
= FAQPage/mainEntity
social link, social profile, same as, profile link
= sameAs
founder, founded by
= founder.name founder
founded, founding date, established
= foundingDate
employee, number of employees, employee count, headcount
= numberOfEmployees.value numberOfEmployees
born, birth date, date of birth, birthday
= birthDate
@ profile:birth_date
nationality
= nationality.name nationality
logo
= logo.url logo.contentUrl logo
@ og:logo
first name, given name
= givenName
@ profile:first_name
last name, family name, surname
= familyName
@ profile:last_name
variant, option, offer, deal
= offers hasVariant
"""
